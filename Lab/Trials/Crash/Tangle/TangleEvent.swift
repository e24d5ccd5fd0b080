/// An event that the sweep causes in one of its processes.
struct TangleEvent: CustomStringConvertible {
    enum Kind: String {
        case stop, goOn, kill, begin, replaceSQLite, replaceLMDB, hideEvidence, showEvidence
    }

    /// The time in seconds since the processes were started.
    let seconds: Double
    let kind: Kind
    /// The place of the process.
    let process: Int

    var description: String { "\(Int(seconds * 1_000)) ms \(kind.rawValue) \(process)" }
}
