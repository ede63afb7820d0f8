"""Forward draws."""
