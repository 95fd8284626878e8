"""The nightly rule: tonight's values of samples against those of normal nights, and the state that follows."""
