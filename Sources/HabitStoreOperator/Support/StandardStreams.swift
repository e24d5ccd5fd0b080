import Foundation

/// The descriptors 0, 1 and 2.
enum StandardStreams {
    /// Takes those that the caller has closed. The next file to be opened would get such a number, and an error text
    /// meant for standard error would be written into a store.
    ///
    /// They are opened for reading: who writes there learns that it cannot be done.
    static func claim() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is given, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
