/// Something that is done to the processes of the tangle from outside.
struct TangleEvent: CustomStringConvertible {
    enum Kind: String {
        case stop, goOn, kill, begin, replaceSQLite, replaceLMDB, hideEvidence, showEvidence
    }

    /// When, in seconds after the processes were begun.
    let seconds: Double
    let kind: Kind
    /// To which process, by its place.
    let process: Int

    var description: String { "\(Int(seconds * 1_000)) ms \(kind.rawValue) \(process)" }
}
