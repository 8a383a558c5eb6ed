"""Decision trees whose splits are found by adaptive sampling."""
