/// The output has no reader any more.
struct OutputClosed: Error {}
