"""Does a fan-out come as near to the best as knowing nothing, or remembering, allows?"""
