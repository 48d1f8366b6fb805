// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// One counter for one wallet. Only the wallet that deployed it can increment it, so a count says how
/// many increments of that wallet the chain has executed, and nothing else.
contract Counter {
    address public immutable owner = msg.sender;
    uint256 public count;

    error NotOwner();

    function increment() external {
        if (msg.sender != owner) revert NotOwner();
        count += 1;
    }
}
