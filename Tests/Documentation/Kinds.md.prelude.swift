struct Trip: PersistentModel {
    enum Kind: String, AttributeEnum, Codable { case plain, business }

    var id = UUID()
    var name: String
    var startDate: Date
    var endDate: Date
    var kind = Kind.plain
    var perdiem: Double?

    init(name: String, startDate: Date, endDate: Date) {
        (self.name, self.startDate, self.endDate) = (name, startDate, endDate)
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        name = try row.nextString()
        startDate = try row.nextDate()
        endDate = try row.nextDate()
        kind = try row.next()
        perdiem = try row.nextOptionalDouble()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
        try row.append(startDate)
        try row.append(endDate)
        try row.append(converting: kind)
        try row.append(perdiem)
    }
}
