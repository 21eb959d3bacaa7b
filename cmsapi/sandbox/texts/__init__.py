"""Articles, markup and its sanitising."""
