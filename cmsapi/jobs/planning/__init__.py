"""Learn how long jobs take, and choose when to poll them: by that, and by what the limits leave. Nothing here waits."""
