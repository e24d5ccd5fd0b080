extension NotesV1 {
    struct Note: PersistentModel {
        var id = UUID()
        static let entity = EntityDescription(Note.self, attributes: [.id(\Note.id)])
        init(row: inout AttributeReader) throws { id = try row.nextUUID() }
        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }
}
