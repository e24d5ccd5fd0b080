/// A side that does all kinds of work on its own data.
protocol Contestant: AnyObject {
    var name: String { get }

    /// False if this side cannot do the work, or does it no differently from another side.
    func takesPart(in work: Work) -> Bool

    /// Creates a file at the path with all of the data, and closes it.
    func load(_ path: String) throws

    /// Opens the file that `load` has created.
    func open(_ path: String) throws

    func close() throws

    /// Does the work on the opened file.
    ///
    /// - Parameter number: how often it has been done before; a commit inserts the spare entry of that number.
    /// - Returns: a checksum over everything that was read; 1 for a commit; the number of entries for a bulk load.
    func perform(_ work: Work, _ number: Int) throws -> UInt64
}

extension Contestant {
    func takesPart(in work: Work) -> Bool { true }
}
