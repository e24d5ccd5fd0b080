/// Nobody reads the output any more.
struct OutputClosed: Error {}
