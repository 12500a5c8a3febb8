"""One denoising problem: its terms, its graph, its units."""
