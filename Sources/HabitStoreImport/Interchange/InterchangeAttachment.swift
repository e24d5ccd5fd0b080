import Foundation
import HabitStore

/// The file with dangling references, which a store does not accept from apps.
enum InterchangeAttachment {
    private struct Line: Codable {
        let id: UUID
        let attribute: String
        let target: UUID
    }

    /// - Returns: the path of the file; nil if there are no such references.
    static func write(
        _ cut: InterchangeReferences.Cut,
        of work: InterchangeImport,
        _ schema: Schema,
        in folder: String
    ) throws -> String? {
        guard !cut.isEmpty else { return nil }
        var names: [UUID: Int] = [:]
        try work.source.forEachRecord(schema) { entity, values, _ in
            if case .uuid(let id) = values[0], cut[id] != nil { names[id] = entity }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        var bytes = Data()
        for (id, targets) in cut.sorted(by: { $0.key.uuidString < $1.key.uuidString }) {
            for target in targets {
                let entity = schema.entities[names[id] ?? 0]
                let attribute = "\(entity.name).\(entity.attributes[target.attribute].name)"
                bytes += try encoder.encode(Line(id: id, attribute: attribute, target: target.id))
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return try ContentNamedFile.write(bytes, as: "export", in: folder)
    }
}
