/// Somebody who does all kinds of work on data of their own.
protocol Contestant: AnyObject {
    var name: String { get }

    /// What this side cannot do, or does not do differently from another.
    func takesPart(in work: Work) -> Bool

    /// Makes a new file under the path with all of the data in it, and closes it.
    func load(_ path: String) throws

    /// Opens the file that `load` has made.
    func open(_ path: String) throws

    func close() throws

    /// Does the work on the opened file.
    ///
    /// - Parameter number: how often it has been done before; a commit inserts the spare entry of that number.
    /// - Returns: a checksum over everything that was read, 1 for a commit; for a bulk load, how many entries there are.
    func perform(_ work: Work, _ number: Int) throws -> UInt64
}

extension Contestant {
    func takesPart(in work: Work) -> Bool { true }
}
