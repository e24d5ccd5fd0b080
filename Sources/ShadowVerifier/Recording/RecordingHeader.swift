/// The first line of a file of recorded mismatches.
struct RecordingHeader: Codable {
    static let format = "habitstore-mismatches"
    static let formatVersion = 1

    var format = Self.format
    var formatVersion = Self.formatVersion
    let a: MismatchRecording.Side
    let b: MismatchRecording.Side
    let keepsValues: Bool
    let shapes: [String: String]
    /// How many lines follow before the last one.
    let mismatches: Int

    init(_ recording: MismatchRecording) {
        a = recording.a
        b = recording.b
        keepsValues = recording.keepsValues
        shapes = recording.shapes
        mismatches = recording.mismatches.count
    }

    /// What every version of the format has in its first line.
    struct Version: Codable {
        let format: String
        let formatVersion: Int
    }
}
