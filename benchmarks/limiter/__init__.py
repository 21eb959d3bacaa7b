"""Does the limiter keep a strict service from ever saying 429, and what does that cost?"""
