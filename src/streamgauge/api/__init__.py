"""The questions that Streamgauge answers, one module each; `import streamgauge` offers them all."""
