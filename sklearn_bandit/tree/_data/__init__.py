"""What is read: samples in bins, bootstrap samples, ranks in small nodes."""
