import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// Recognizes a file or a folder by its contents; names do not count.
enum TrackerRecognition {
    enum Finding {
        case database(SourceDatabase, TrackerFormat)
        case files(SourceFiles)
        case habitBull([UInt8])
        case json(JSON, TrackerFormat)
        case harsh(habits: String?, log: String?)
        case tables(SourceTables, CoreDataMapping, TimeZone)
    }

    private static let mappingAdvice = "--suggest-mapping prints a mapping of its lists to habits, to be completed"

    /// Recognizes the file or folder at a path.
    ///
    /// - Parameter format: the expected format; nil to accept any.
    /// - Throws: ``HabitStoreError/Code/unknownFormat`` if it has another format, with what is known about it.
    static func find(_ path: String, format: TrackerFormat?) throws -> Finding {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw HabitStoreError.system(
                errno,
                errno == ENOENT ? "there is no file here" : "it cannot be reached",
                path
            )
        }
        let finding = status.st_mode & S_IFMT == S_IFDIR ? try folder(path) : try file(path)
        if case .harsh(_, log: nil) = finding, format != .harsh {
            // Many other files have such lines.
            throw unknown(
                path,
                "this may be a list of habits of harsh, but there is no log next to it; give --from harsh"
            )
        }
        guard let format, format != finding.format else { return finding }
        throw HabitStoreError(
            .unknownFormat,
            "this is \(finding.format.title), and not \(format.title)",
            at: .init(path: path)
        )
    }

    private static func folder(_ path: String) throws -> Finding {
        let files = try SourceFiles(path: path, wanted: LoopExport.isWanted)
        if try LoopExport.recognises(files) { return .files(files) }
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
        var (habits, log): (String?, String?)
        for name in names {
            guard let text = try? text(path + "/" + name) else { continue }
            if log == nil, HarshFiles.isLog(text) {
                log = text
            } else if habits == nil, HarshFiles.isHabits(text) {
                habits = text
            }
        }
        guard habits != nil || log != nil else {
            throw unknown(path, "this folder is not an export of Loop Habit Tracker, and has no files of harsh")
        }
        return .harsh(habits: habits, log: log)
    }

    private static func file(_ path: String) throws -> Finding {
        let head = try head(path)
        guard !head.isEmpty else { throw unknown(path, "the file is empty") }
        if head.starts(with: DatabaseHeader.magic) { return try database(path) }
        if ZipArchive.isZip(head) {
            let files = try SourceFiles(path: path, wanted: LoopExport.isWanted)
            guard try LoopExport.recognises(files) else {
                throw unknown(path, "this zip is not an export of Loop Habit Tracker: it has no Habits.csv")
            }
            return .files(files)
        }
        let bytes = try WholeFile.read(path).bytes
        let first = bytes.first { $0 > 0x20 && $0 < 0x80 }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return try json(bytes, path) }
        var reader = CSVReader(bytes, path: path)
        if let header = try? reader.next(), HabitBullExport.recognises(header.map(\.text)) { return .habitBull(bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw unknown(path, "the file is of no format that is known")
        }
        return try harsh(text, path)
    }

    private static func database(_ path: String) throws -> Finding {
        let database = try SourceDatabase(path: path)
        if try LoopDatabase.recognises(database) { return .database(database, .loop) }
        if try TickmateDatabase.recognises(database) { return .database(database, .tickmate) }
        if try TableHabitDatabase.recognises(database) { return .database(database, .tableHabit) }
        if database.has("Z_METADATA") {
            throw unknown(path, "this is a Core Data file: `habitstore import coredata` reads it")
        }
        if database.has("habitstore_metadata") {
            throw unknown(path, "this is a store already: `\(OperatorCommand.name) copy` brings it into another one")
        }
        let unreadable = database.unreadable.map(\.description).listed()
        throw unknown(
            path,
            "this is a database of \(database.tableNames.count) tables, of no app that is known; \(Self.mappingAdvice)"
                + (unreadable.isEmpty ? "" : "; only the app itself can read \(unreadable)")
        )
    }

    private static func json(_ bytes: [UInt8], _ path: String) throws -> Finding {
        let json = try JSON(source: bytes, [.repeatedMember], path: path)
        if TableHabitExport.recognises(json) { return .json(json, .tableHabitJSON) }
        if BeaverHabits.recognises(json) { return .json(json, .beaverhabits) }
        throw unknown(path, "this is JSON of no app that is known; \(mappingAdvice)")
    }

    /// Recognizes one of harsh's files; the other one is next to it, under the other name.
    private static func harsh(_ text: String, _ path: String) throws -> Finding {
        if HarshFiles.isLog(text) {
            let other = try? self.text(sibling(path, "log", "habits"))
            return .harsh(habits: other.flatMap { HarshFiles.isHabits($0) ? $0 : nil }, log: text)
        }
        if HarshFiles.isHabits(text) {
            let other = try? self.text(sibling(path, "habits", "log"))
            return .harsh(habits: text, log: other.flatMap { HarshFiles.isLog($0) ? $0 : nil })
        }
        throw unknown(path, "the file is of no format that is known")
    }

    private static func sibling(_ path: String, _ name: String, _ other: String) -> String {
        let path = (try? WholeFile.resolved(path)) ?? path
        let file = path.split(separator: "/").last.map(String.init) ?? path
        return DurableFile.folder(of: path) + "/" + file.replacingOccurrences(of: name, with: other)
    }

    private static func text(_ path: String) throws -> String {
        guard let text = String(validating: try WholeFile.read(path).bytes, as: UTF8.self) else {
            throw unknown(path, "the file is not text")
        }
        return text
    }

    private static func head(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        return Array(bytes.prefix(count))
    }

    private static func unknown(_ path: String, _ message: String) -> HabitStoreError {
        HabitStoreError(.unknownFormat, message, at: .init(path: path))
    }
}

extension TrackerRecognition.Finding {
    var format: TrackerFormat {
        switch self {
        case .database(_, let format), .json(_, let format): format
        case .files: .loopCSV
        case .habitBull: .habitbull
        case .harsh: .harsh
        case .tables: .table
        }
    }

    /// Reads everything in the source.
    func read(_ path: String) throws -> TrackerSource {
        switch self {
        case .database(let database, .tickmate): try TickmateDatabase.read(database)
        case .database(let database, .tableHabit): try TableHabitDatabase.read(database)
        case .database(let database, _): try LoopDatabase.read(database)
        case .files(let files): try LoopExport.read(files)
        case .habitBull(let bytes): try HabitBullExport.read(bytes, path: path)
        case .json(let json, .beaverhabits): try BeaverHabits.read(json, path: path)
        case .json(let json, _): try TableHabitExport.read(json, path: path)
        case .tables(let tables, let mapping, let timeZone):
            try TableReader(tables, mapping, timeZone: timeZone).read()
        case .harsh(let habits, let log): try HarshFiles.read(habits: habits, log: log, path: path)
        }
    }
}

/// The formats of other habit trackers' databases and exports.
public enum TrackerFormat: String, Sendable, CaseIterable, Codable {
    /// The database of Loop Habit Tracker, with any version of its schema.
    case loop
    /// Loop's export: a folder or a zip of CSV files.
    case loopCSV = "loop-csv"
    /// The database of Tickmate.
    case tickmate
    /// The CSV export of HabitBull.
    case habitbull
    /// A user's JSON file of Beaver Habit Tracker.
    case beaverhabits
    /// The two text files of harsh, `habits` and `log`.
    case harsh
    /// The database of Table Habit.
    case tableHabit = "table-habit"
    /// The JSON export of Table Habit.
    case tableHabitJSON = "table-habit-json"
    /// A database, CSV or JSON file whose lists a mapping describes.
    case table

    /// The app's name and the kind of file.
    public var title: String {
        switch self {
        case .loop: "Loop Habit Tracker, database"
        case .loopCSV: "Loop Habit Tracker, CSV export"
        case .tickmate: "Tickmate, database"
        case .habitbull: "HabitBull, CSV export"
        case .beaverhabits: "Beaver Habit Tracker, JSON"
        case .harsh: "harsh, text files"
        case .tableHabit: "Table Habit, database"
        case .tableHabitJSON: "Table Habit, JSON export"
        case .table: "lists, by a mapping"
        }
    }
}
