import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// An export to import.
struct InterchangeSource {
    let path: String
    let format: InterchangeFormat
    let header: InterchangeHeader

    /// Recognizes an export by its contents.
    ///
    /// - Returns: nil if the path is anything else.
    init?(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.path = path
        if status.st_mode & S_IFMT == S_IFDIR {
            let manifest = path + "/" + InterchangeHeader.manifestName
            guard FileManager.default.fileExists(atPath: manifest) else { return nil }
            let bytes = try WholeFile.read(manifest).bytes
            guard JSONDocument.isExport(bytes) else { return nil }
            header = try InterchangeHeader(Data(bytes), path: manifest)
            format = .csv
        } else {
            guard status.st_mode & S_IFMT == S_IFREG, try Self.isDocument(path) else { return nil }
            header = try JSONDocument.header(path)
            format = .json
        }
    }

    /// White space, and the bytes of a byte order mark.
    private static let mayComeFirst: [UInt8] = [0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]

    /// The format name that marks an export may come after all records, if the members were sorted.
    private static func isDocument(_ path: String) throws -> Bool {
        let stream = try ByteStream(path)
        let word = Array("\"\(InterchangeHeader.format)\"".utf8)
        var first: UInt8?
        var matched = 0
        while let byte = try stream.take() {
            // JSON contains no zero bytes, and a file full of zeros may be very long.
            guard byte != 0 else { return false }
            if first == nil, !Self.mayComeFirst.contains(byte) {
                first = byte
                guard byte == UInt8(ascii: "{") else { return false }
            }
            matched = byte == word[matched] ? matched + 1 : byte == word[0] ? 1 : 0
            if matched == word.count { return true }
        }
        return false
    }

    /// Calls `body` with the index of each record's entity, its values, and its place in the export.
    func forEachRecord(_ schema: Schema, _ body: (Int, [Value], String) throws -> Void) throws {
        switch format {
        case .csv: for position in schema.entities.indices { try forEachRow(position, schema.entities[position], body) }
        case .json: try forEachObject(schema, body)
        }
    }

    // MARK: CSV

    private func forEachRow(
        _ position: Int,
        _ entity: EntityDescription,
        _ body: (Int, [Value], String) throws -> Void
    ) throws {
        guard header.schema.contains(where: { $0.name == entity.name }) else { return }
        let file = "\(path)/\(entity.name).csv"
        var reader = try CSVReader(path: file)
        let columns = InterchangeColumn.all(of: entity)
        let names = try row(&reader, file)?.map(\.text) ?? []
        guard Set(names).count == names.count else { throw failure("a column is there twice", file) }
        for column in columns where !column.isExact && !names.contains(column.name) {
            throw failure("there is no column \(column.name)", file)
        }
        for name in names where !columns.contains(where: { $0.name == name }) {
            throw failure("there is a column that \(entity.name) does not have; take it away", file)
        }
        let places = columns.map { names.firstIndex(of: $0.name) }
        while let row = try row(&reader, file) {
            if row == [CSVReader.Field(text: "")] { continue }
            guard row.count == names.count else {
                throw failure("line \(reader.line) has \(row.count) fields, and there are \(names.count) columns", file)
            }
            let values = try Self.values(entity, columns) { column in
                places[column].map { row[$0] }
            } value: { field, column in
                ValueText.value(field, column)
            } words: {
                $0.text.isEmpty ? nil : $0.text
            } failure: {
                failure("line \(reader.line): \($0)", file)
            }
            try body(position, values, "line \(reader.line) of \(entity.name).csv")
        }
    }

    /// The next row. Exports end every row with a line break; a last row without one may be truncated.
    private func row(_ reader: inout CSVReader, _ file: String) throws -> [CSVReader.Field]? {
        guard let row = try reader.next() else { return nil }
        guard reader.isLineEnded else {
            throw failure(
                "line \(reader.line) ends without a line break, as no line of an export does: the file was cut short; if the line "
                    + "is whole, end it with one",
                file
            )
        }
        return row
    }

    /// Throws if the folder has a CSV file that is not part of the export.
    func requireKnownFiles() throws {
        guard format == .csv else { return }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw HabitStoreError(.inputOutput, "the folder cannot be read", at: .init(path: path), underlying: error)
        }
        let known = Set(header.schema.map { "\($0.name).csv" })
        // File systems and other programs leave hidden files.
        let unknown = names.sorted().first { name in
            !name.hasPrefix(".") && name.lowercased().hasSuffix(".csv") && !known.contains(name)
        }
        guard let unknown else { return }
        throw failure(
            "this file is of no entity that the export has; take it away, or give it its name",
            "\(path)/\(unknown)"
        )
    }

    // MARK: JSON

    private func forEachObject(_ schema: Schema, _ body: (Int, [Value], String) throws -> Void) throws {
        var columns: [Int: [InterchangeColumn]] = [:]
        var numbers: [Int: Int] = [:]
        try JSONDocument.forEachRecord(path) { name, bytes in
            guard let position = schema.entities.firstIndex(where: { $0.name == name }) else {
                throw failure("there are records of \(name), which the schema does not have", path)
            }
            let entity = schema.entities[position]
            let number = numbers[position, default: 0] + 1
            numbers[position] = number
            let place = "\(name) \(number)"
            let members = try Self.members(bytes) { failure("\(place): \($0)", path) }
            let all = columns[position] ?? InterchangeColumn.all(of: entity)
            columns[position] = all
            for member in members.keys where !all.contains(where: { $0.name == member }) {
                throw failure("\(place): it has a member that \(name) does not have", path)
            }
            let values = try Self.values(entity, all) { column in
                members[all[column].name] ?? (all[column].isOptional ? .null : nil)
            } value: { json, column in
                ValueJSON.value(json, column)
            } words: {
                $0.text
            } failure: {
                failure("\(place): \($0)", path)
            }
            try body(position, values, place)
        }
    }

    private static func members(
        _ bytes: [UInt8],
        _ failure: (String) -> HabitStoreError
    ) throws -> [String: JSON] {
        do {
            guard let members = try JSON(parsing: bytes).members else { throw failure("it is not an object") }
            return members
        } catch let error as JSONFailure {
            throw failure("\(error)")
        }
    }

    // MARK: Common to both formats

    /// The values of a record, in the order of its attributes.
    private static func values<Field>(
        _ entity: EntityDescription,
        _ columns: [InterchangeColumn],
        field: (Int) -> Field?,
        value: (Field, InterchangeColumn) -> Value?,
        words: (Field) -> String?,
        failure: (String) -> HabitStoreError
    ) throws -> [Value] {
        var values = [Value](repeating: .null, count: entity.attributes.count)
        var place = 0
        while place < columns.count {
            let column = columns[place]
            guard let content = field(place) else { throw failure("there is no \(column.name)") }
            let result: Value?
            if column.kind == .date {
                // The exact number is in the next column; the text is parsed only if it says something else.
                let exact = field(place + 1).flatMap { value($0, columns[place + 1]) }
                if case .double(let seconds)? = exact {
                    result = InterchangeColumn.date(words: words(content), exact: seconds)
                } else {
                    result = value(content, column)
                }
                place += 1
            } else {
                result = value(content, column)
            }
            guard let result, !result.isNull || column.isOptional else {
                throw failure("\(column.name) cannot be read")
            }
            do {
                values[column.attribute] = try result.normalized()
            } catch let error as HabitStoreError {
                throw failure("\(column.name): \(error.message)")
            }
            place += 1
        }
        return values
    }

    private func failure(_ message: String, _ path: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, message, at: .init(path: path))
    }
}

/// The identifiers of all records in an export.
struct InterchangeSurvey {
    private var identifiers: [Set<UUID>]

    init(_ schema: Schema) { identifiers = schema.entities.map { _ in [] } }

    /// - Returns: false if the identifier was added before.
    mutating func add(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].insert(id).inserted }

    func has(_ entity: Int, _ id: UUID) -> Bool { identifiers[entity].contains(id) }

    /// The number of records of each entity.
    var counts: [Int] { identifiers.map(\.count) }

    var total: Int { counts.reduce(0, +) }
}
