"""The schema versions of the store, oldest first; a released one never changes."""
