import HabitStoreReports
import ShadowVerifier

/// The recorded mismatches of a file.
struct MismatchList: Encodable {
    let formatVersion = 1
    let token: Int64
    let keepsValues: Bool
    let shapes: [String: String]
    let mismatches: [StoreDifference]

    init(_ recording: MismatchRecording) {
        token = recording.token.rawValue
        keepsValues = recording.keepsValues
        shapes = recording.shapes
        mismatches = recording.differences
    }

    /// The mismatches as a table.
    func text(_ options: TerminalOptions) -> String {
        let values = keepsValues ? "with values" : "without values"
        let head = "\(mismatches.count.counted("mismatch", plural: "mismatches")) at token \(token), \(values)\n"
        guard !mismatches.isEmpty else { return head }
        var table = TextTable([
            .init("id", canShrink: false), .init("kind"), .init("entity"), .init("record", canShrink: false),
            .init("attribute"), .init("query"), .init("ignored by"),
        ])
        for difference in mismatches {
            table.append([
                difference.differenceID, difference.kind.rawValue, difference.entity ?? "",
                difference.id.map { RecordReference.short($0) } ?? "", difference.attribute ?? "",
                difference.query ?? "", difference.ignoredBy ?? "",
            ])
        }
        return head + "\n" + table.text(options)
    }
}
