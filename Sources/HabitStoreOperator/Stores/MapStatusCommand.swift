import ArgumentParser
import Foundation
import HabitStore
import HabitStoreImport
import HabitStoreMetrics

/// `habitstore map status PATH…`.
struct MapStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what first launches came to, from their records; writes nothing.",
        discussion: """
            An app that opens its store with FirstLaunch keeps a record next to the old file, FILE.launch.json. Exit code 1 if \
            an old file still serves, or was written to after its store had taken over, or if the last launch could not open the store.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "Launch records, or folders that have some, at any depth.")
    var paths: [String]

    @Flag(help: "Print Prometheus' text format instead.")
    var metrics = false

    func run() async throws {
        var records: [Found] = []
        var unreadable: [String] = []
        for path in try paths.flatMap({ try Self.records(at: $0) }) {
            do {
                guard let record = try LaunchRecord(path: path) else {
                    throw HabitStoreError(.notFound, "there is no launch record here", at: .init(path: path))
                }
                records.append(Found(path: path, record: record))
            } catch let error as HabitStoreError where paths != [path] {
                unreadable.append(error.description)
            }
        }
        if metrics {
            return try Output.write(MetricFamily.text(Self.families(records.map(\.record), unreadable.count)))
        }
        try output.write(records) {
            if records.isEmpty, unreadable.isEmpty { return "no launch records\n" }
            return (records.map(\.line) + unreadable).map { TerminalText.escaped($0) + "\n" }.joined()
        }
        if output.format == .json { for line in unreadable { StandardError.note(line) } }
        if !unreadable.isEmpty
            || records.map(\.record).contains(where: {
                $0.state != .moved || $0.writtenSince != nil || $0.reason != nil || $0.failure != nil
            })
        {
            throw ExitCode(ExitStatus.different.rawValue)
        }
    }

    /// The path itself, or the records in a folder.
    private static func records(at path: String) throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return [path]
        }
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(FirstLaunch.recordSuffix) }.sorted().map { "\(path)/\($0)" }
    }

    private static func families(_ records: [LaunchRecord], _ unreadable: Int) -> [MetricFamily] {
        let groups = Dictionary(grouping: records) { record in
            [
                record.state == .moved ? "moved" : "waiting",
                record.state == .moved ? record.failure?.code ?? "" : record.reason?.code ?? "killed",
            ]
        }
        var samples = groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { labels, records in
            MetricFamily.Sample(Double(records.count), [.init("state", labels[0]), .init("reason", labels[1])])
        }
        if unreadable > 0 {
            samples.append(MetricFamily.Sample(Double(unreadable), [.init("state", "unknown"), .init("reason", "")]))
        }
        let written = records.count { $0.writtenSince != nil }
        return [
            MetricFamily(.firstLaunches, samples), MetricFamily(.oldFilesWritten, [.init(Double(written))]),
        ]
    }
}

/// A record, and where it was found.
private struct Found: Encodable {
    let path: String
    let record: LaunchRecord

    func encode(to encoder: any Encoder) throws {
        try record.encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(path, forKey: .record)
    }

    private enum Keys: String, CodingKey { case record }

    /// The old file, as the app calls it, where the record is next to it.
    private var name: String {
        let file =
            path.hasSuffix(FirstLaunch.recordSuffix) ? String(path.dropLast(FirstLaunch.recordSuffix.count)) : path
        return file.split(separator: "/").last == record.file.split(separator: "/").last
            ? file : "\(path) (\(record.file))"
    }

    var line: String {
        let attempts = record.attempts.counted("launch", plural: "launches")
        let since = record.firstAttempt.map { " since \(ISODate.instant($0))" } ?? ""
        guard record.state == .moved else {
            let reason =
                record.reason.map { "\($0.code): \($0.message)" } ?? "the last launch was killed, or is at work"
            return "\(name): the old file serves (\(attempts)\(since)): \(reason)"
        }
        var counts = record.records.map { " with \($0.values.reduce(0, +).counted("record")) of the file" } ?? ""
        if let setAside = record.setAside, setAside > 0 { counts += ", and \(setAside.counted("row")) set aside" }
        if let differing = record.differing, differing > 0 {
            counts += ", of which \(differing) \(differing == 1 ? "has" : "have") other values in the store"
        }
        let reason = record.reason.map { "; what became of the file is unknown: \($0.message)" } ?? ""
        let serves = record.failure.map {
            "the last launch failed (\($0.code): \($0.message)); a store has replaced the file\(counts)"
        }
        let state = "\(name): \(serves ?? "the store serves\(counts)")"
        guard let written = record.writtenSince else { return "\(state)\(reason)" }
        return
            "\(state), and old code has changed the file, as seen at \(ISODate.instant(written)): "
            + "`\(Tool.name) map import \(ShellWord.quoted(record.file)) MAPPING --into STORE --merge` adds what is new\(reason)"
    }
}
