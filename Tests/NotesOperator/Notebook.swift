import Foundation
import HabitStore

/// A notebook with notes.
struct Notebook: PersistentModel {
    var id = UUID()
    var name: String

    static let entity = EntityDescription(
        Notebook.self,
        attributes: [.id(\Notebook.id), .attribute("name", \Notebook.name)]
    )

    init(name: String) { self.name = name }

    init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}
