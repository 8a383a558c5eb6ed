"""What is optimised: criteria, their histograms, and scans of these."""
