"""Scores: policies, batches and single tasks. Typed in, typed out; no transport and no storage."""
