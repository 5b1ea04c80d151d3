"""What runs the contenders, keeps their numbers and shows them."""
