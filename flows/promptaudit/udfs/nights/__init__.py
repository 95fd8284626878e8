"""The nightly rule: tonight's values of samples against normal nights, and the state that follows."""
