"""What a store's file holds: the tables as numbered migrations, and the check that it holds nothing else."""
