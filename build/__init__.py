"""What makes the archive and the image: pins, wheels, staging, packing. None of it is in the archive but launcher/."""
