"""What outlives a call: runs, results, follow-ups, outbox, evaluations, reports, playbook."""
