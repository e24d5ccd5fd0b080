import Foundation
import HabitStoreReports

/// The terminals of the standard streams.
package enum Terminal {
    /// Whether a stream is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of a stream's terminal; nil if it is not a terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Moves to the top and clears the terminal, so that the next text replaces its contents.
    package static let home = "\u{1B}[H\u{1B}[J"

    /// The layout options for text on standard output.
    package static func options(isASCII: Bool = false) -> TerminalOptions {
        let environment = ProcessInfo.processInfo.environment
        let wantsColor = (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        return TerminalOptions(
            columns: columns(of: STDOUT_FILENO),
            isASCII: isASCII,
            usesColor: wantsColor && isTerminal(STDOUT_FILENO)
        )
    }
}
