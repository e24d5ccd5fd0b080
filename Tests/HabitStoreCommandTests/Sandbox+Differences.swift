import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines
import Testing

extension Sandbox {
    /// A note that looks like markup.
    static let markup = "<script>alert(1)</script>"

    /// A store and its copy on the other engine; in the copy one entry has a different note and another one is missing.
    func differingStores() throws -> (a: String, b: String) {
        try want("sqlite")
        try run("habit", "add", "Run").expectSuccess()
        for note in ["at dawn", "at dusk"] { try run("checkin", "Run", "--note", note).expectSuccess() }
        let (store, copy) = (path("data/habitstore/users/u-616c696365/store.sqlite"), "lmdb:\(path("copy"))")
        try run("copy", store, copy).expectSuccess()
        try change("lmdb", path("copy"))
        return (store, copy)
    }

    /// Changes the first entry's note without a history entry, and removes the second.
    func change(_ engine: String, _ path: String, removes: Bool = true) throws {
        let store = try StoreAddress(try #require(EngineName(rawValue: engine)), path: path).open(
            .readWrite,
            schema: HabitSchema.current
        )
        defer { store.close() }
        let position = try store.schema.position(ofEntity: "Entry")
        let entity = store.schema.entities[position]
        let note = try #require(entity.position(of: "note"))
        try store.replicate { replica in
            var found: [(UUID, EncodedRecord)] = []
            try replica.enumerate(entity: position, after: nil) { id, record in
                found.append((id, record))
                return true
            }
            let first = try #require(found.first)
            var values = try first.1.values(entity.layout)
            values[note] = .string(Self.markup)
            try replica.put(entity: position, id: first.0, try EncodedRecord(values, layout: entity.layout))
            if removes { try replica.remove(entity: position, id: try #require(found.last).0) }
        }
    }

    /// Writes a file of ignore rules for notes, with further rules from `also`.
    func ignoreRules(_ name: String, also: String = "", expires: String = "9999-12-31") throws -> String {
        try write(
            name,
            """
            {"rules": [{"name": "notes", "reason": "known", "entity": "Entry", "attribute": "note", "expires": "\(expires)"}\(also)]}
            """
        )
    }

    func permissions(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
