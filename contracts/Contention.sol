// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A few slots that all wallets write. What a slot has depends on the order of its writes.
contract Contention {
    mapping(uint256 => uint256) public countOf;
    mapping(uint256 => bytes32) public chainOf;

    /// What the slot has after the write: names the first wrong one.
    event Written(uint256 slot, uint256 count, bytes32 chain);

    function write(uint256 slot, uint256 nonce) external {
        uint256 count = countOf[slot] + 1;
        bytes32 chain = keccak256(abi.encode(chainOf[slot], msg.sender, nonce));
        countOf[slot] = count;
        chainOf[slot] = chain;
        emit Written(slot, count, chain);
    }
}
