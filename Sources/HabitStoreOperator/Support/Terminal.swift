import Foundation
import HabitStoreReports

/// What the standard streams lead to.
package enum Terminal {
    /// Whether a stream is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of the terminal that a stream leads to; nil when it leads elsewhere.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// What puts the next text in the place of what the terminal shows.
    package static let home = "\u{1B}[H\u{1B}[J"

    /// How text is laid out on standard output.
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
