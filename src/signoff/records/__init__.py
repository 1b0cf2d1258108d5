"""What leaves the host in words: text made inert, feedback inside its boundary, receipts in their envelope."""
