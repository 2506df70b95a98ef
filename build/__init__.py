"""What makes the archive and the image: pins, wheels, staging, packing. Only launcher/ is part of the archive."""
