"""Models of GGUF files, served by llama.cpp."""
