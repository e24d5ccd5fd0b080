import Foundation
import HabitStore

/// A record with every kind of attribute, optional and not.
struct Specimen: PersistentModel {
    var id = UUID()
    var flag: Bool = false
    var optionalFlag: Bool?
    var count: Int = 0
    var optionalCount: Int?
    var ratio: Double = 0
    var optionalRatio: Double?
    var text: String = ""
    var optionalText: String?
    var moment: Date = Date(timeIntervalSinceReferenceDate: 0)
    var optionalMoment: Date?
    var token: UUID = UUID()
    var optionalToken: UUID?
    var bytes: Data = Data()
    var optionalBytes: Data?
    var words: [String] = []
    var optionalWords: [String]?
    var mood = Mood.good
    var optionalMood: Mood?
    var level = Level.low
    var optionalLevel: Level?
    @JSONAttribute var settings = Settings(theme: "", sizes: [])
    var optionalSettings: JSONAttribute<Settings>?
    /// Unique, but any number of records may have nil.
    var code: String?
    /// Unique, and never nil.
    var serial = UUID()

    init(_ text: String = "") { self.text = text }

    static let entity = EntityDescription(
        Specimen.self,
        attributes: [
            .id(\Specimen.id),
            .attribute("flag", \Specimen.flag),
            .attribute("optionalFlag", \Specimen.optionalFlag),
            .attribute("count", \Specimen.count),
            .attribute("optionalCount", \Specimen.optionalCount),
            .attribute("ratio", \Specimen.ratio),
            .attribute("optionalRatio", \Specimen.optionalRatio),
            .attribute("text", \Specimen.text),
            .attribute("optionalText", \Specimen.optionalText),
            .attribute("moment", \Specimen.moment),
            .attribute("optionalMoment", \Specimen.optionalMoment),
            .attribute("token", \Specimen.token),
            .attribute("optionalToken", \Specimen.optionalToken),
            .attribute("bytes", \Specimen.bytes),
            .attribute("optionalBytes", \Specimen.optionalBytes),
            .attribute("words", \Specimen.words),
            .attribute("optionalWords", \Specimen.optionalWords),
            .attribute("mood", \Specimen.mood),
            .attribute("optionalMood", \Specimen.optionalMood),
            .attribute("level", \Specimen.level),
            .attribute("optionalLevel", \Specimen.optionalLevel),
            .attribute("settings", \Specimen._settings),
            .attribute("optionalSettings", \Specimen.optionalSettings),
            .attribute("code", \Specimen.code, [.unique, .preserveValueOnDeletion]),
            .attribute("serial", \Specimen.serial, .unique),
        ],
        indexes: [
            IndexDescription("text"), IndexDescription("optionalText"),
            IndexDescription("count", "optionalMoment").clustering(),
            IndexDescription("optionalRatio"), IndexDescription("level"),
        ]
    )
}

extension Specimen {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        flag = try row.nextBool()
        optionalFlag = try row.nextOptionalBool()
        count = try row.nextInt()
        optionalCount = try row.nextOptionalInt()
        ratio = try row.nextDouble()
        optionalRatio = try row.nextOptionalDouble()
        text = try row.nextString()
        optionalText = try row.nextOptionalString()
        moment = try row.nextDate()
        optionalMoment = try row.nextOptionalDate()
        token = try row.nextUUID()
        optionalToken = try row.nextOptionalUUID()
        bytes = try row.nextData()
        optionalBytes = try row.nextOptionalData()
        words = try row.nextStrings()
        optionalWords = try row.nextOptionalStrings()
        mood = try row.next()
        optionalMood = try row.next()
        level = try row.next()
        optionalLevel = try row.next()
        _settings = try row.next()
        optionalSettings = try row.next()
        code = try row.nextOptionalString()
        serial = try row.nextUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(flag)
        row.append(optionalFlag)
        row.append(count)
        row.append(optionalCount)
        try row.append(ratio)
        try row.append(optionalRatio)
        row.append(text)
        row.append(optionalText)
        try row.append(moment)
        try row.append(optionalMoment)
        row.append(token)
        row.append(optionalToken)
        row.append(bytes)
        row.append(optionalBytes)
        row.append(words)
        row.append(optionalWords)
        try row.append(converting: mood)
        try row.append(converting: optionalMood)
        try row.append(converting: level)
        try row.append(converting: optionalLevel)
        try row.append(converting: _settings)
        try row.append(converting: optionalSettings)
        row.append(code)
        row.append(serial)
    }
}
