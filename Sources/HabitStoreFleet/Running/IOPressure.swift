import Foundation

/// The kernel's measure of how long processes wait for the disk (`/proc/pressure/io`, since Linux 4.20).
enum IOPressure {
    /// The percentage of the last ten seconds in which some task waited; nil if the kernel does not report it.
    static func now(_ path: String = "/proc/pressure/io") -> Double? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        guard let some = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
            let field = some.split(separator: " ").first(where: { $0.hasPrefix("avg10=") })
        else { return nil }
        return Double(field.dropFirst("avg10=".count))
    }
}
