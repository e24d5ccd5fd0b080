extension EvidenceLog {
    /// How many records ``newest(_:)`` gives unless a caller says so.
    public static let newestRecords = 1_000

    /// The newest records of the file, and the check of all of it. What is kept in memory depends on `limit` and not on the
    /// file's size, and of the records that are not given no more is read than their places and hashes.
    ///
    /// - Throws: what the system refuses. A damaged file is no error: the listing says so.
    public func newest(_ limit: Int = newestRecords) throws -> EvidenceListing {
        var listing = EvidenceListing()
        guard let file = try open() else { return listing }
        var places = NewestPlaces(limit: limit)
        var start = 0
        let size = try file.size()
        try file.forEachPart(0..<size) { part, length in
            defer { start += length }
            switch part {
            case .line(let bytes):
                guard listing.walk.passes(bytes) else { return }
                listing.count += 1
                places.note(.init(start: start, line: listing.walk.line))
            case .overlong: listing.walk.takeOverlong()
            case .rest(let bytes):
                if EvidenceLine.isTorn(bytes) {
                    listing.tornBytes = bytes.count
                } else {
                    listing.walk.takeUnfinished()
                }
            }
        }
        for place in places.inOrder {
            do {
                listing.records.append(try file.record(at: place.start, size))
            } catch let fault as EvidenceLine.Fault {
                // Its hash is right, which was looked at before, and what it says is no event.
                listing.count -= 1
                listing.walk.note(fault.reason, at: place.line)
            }
        }
        return listing
    }
}

extension EvidenceWalk {
    /// Takes the next line, and reads no more of it than is needed.
    ///
    /// - Returns: whether its own hash is right.
    fileprivate mutating func passes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // What the first line is decides whether the chain may begin with it.
        if line > 0, let skimmed = EvidenceLine.skim(bytes) {
            take(skimmed)
            return true
        }
        return take(bytes) != nil
    }
}

/// The last places of many.
private struct NewestPlaces {
    struct Place {
        let start: Int
        let line: Int
    }

    let limit: Int
    private var places: [Place] = []
    /// Where the oldest one is, once there are `limit`.
    private var oldest = 0

    init(limit: Int) { self.limit = limit }

    mutating func note(_ place: Place) {
        guard limit > 0 else { return }
        guard places.count == limit else { return places.append(place) }
        places[oldest] = place
        oldest = (oldest + 1) % limit
    }

    var inOrder: [Place] { Array(places[oldest...] + places[..<oldest]) }
}
