"""Menu votes: customer_votes -> vote_counts; with customer_regions -> votes_by_region."""
