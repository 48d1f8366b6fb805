// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Logs that can be listed page by page. Their data is made here from their ids: it repeats nowhere, so that it cannot
/// be compressed, and travels in no transaction.
contract Logs {
    /// Once for each page, so that pages can be listed without their data. The block of a page is that of its logs: on
    /// some chains block.number is not the number that the node shows.
    event Page(uint256 indexed page);
    event Item(uint256 indexed page, uint256 indexed id, bytes data);

    /// Pages in all, and pages of each writer.
    uint256 public pages;
    mapping(address => uint256) public count;

    /// Encodes by hand, because an emit statement would copy the data once more for each log.
    function write(uint256 amount, uint256 size) external {
        uint256 page = pages++;
        count[msg.sender]++;
        emit Page(page);
        bytes32 topic = Item.selector;
        assembly ("memory-safe") {
            let encoded := mload(0x40)
            mstore(encoded, 0x20)
            mstore(add(encoded, 0x20), size)
            let data := add(encoded, 0x40)
            let end := add(data, and(add(size, 31), not(31)))
            let first := mul(page, amount)
            for { let id := first } lt(id, add(first, amount)) { id := add(id, 1) } {
                mstore(0, id)
                mstore(0x20, address())
                let word := keccak256(0, 0x40)
                for { let at := data } lt(at, end) { at := add(at, 0x20) } {
                    mstore(0, word)
                    word := keccak256(0, 0x20)
                    mstore(at, word)
                }
                mstore(add(data, size), 0)
                log3(encoded, sub(end, encoded), topic, page, id)
            }
        }
    }
}
