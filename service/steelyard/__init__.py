"""Steelyard scores, evaluates and gates the work of AI agents."""
