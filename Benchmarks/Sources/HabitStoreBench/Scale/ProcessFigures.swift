import Foundation

/// The resources of this process, as reported by the system; zeros if it does not report them.
struct ProcessFigures {
    /// The process's private memory.
    let ownBytes: Double
    /// Mapped file pages in memory, which the system reclaims when it needs memory.
    let mappedBytes: Double
    let addressBytes: Double
    let files: Int
    let maps: Int

    init() {
        let status = Self.lines("/proc/self/status")
        ownBytes = Self.kibibytes("RssAnon:", status)
        mappedBytes = Self.kibibytes("RssFile:", status) + Self.kibibytes("RssShmem:", status)
        addressBytes = Self.kibibytes("VmSize:", status)
        files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        maps = Self.lines("/proc/self/maps").count
    }

    private static func kibibytes(_ name: String, _ lines: [Substring]) -> Double {
        let line = lines.first { $0.hasPrefix(name) }?.split(whereSeparator: \.isWhitespace) ?? []
        return line.count > 1 ? (Double(line[1]) ?? 0) * 1_024 : 0
    }

    /// These files report no size, and are read to their end.
    private static func lines(_ path: String) -> [Substring] {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }
}
