"""What `onepass cluster` does between its options and its words: read, cluster, read again, write, tell."""
