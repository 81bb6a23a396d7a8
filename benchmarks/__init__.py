"""What Looseleaf costs, beside the physical limit and the peers."""
