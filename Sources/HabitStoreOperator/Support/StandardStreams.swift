import Foundation

/// The file descriptors 0, 1 and 2.
enum StandardStreams {
    /// Opens those that the caller has closed. Otherwise the next opened file would get such a number, and an error message for standard error would
    /// be written into a store.
    ///
    /// They are opened for reading, so that writing to them fails.
    static func claim() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The system returns the lowest free number, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
