// Package oracle checks the adapters of model/ against the providers' SDKs: what
// is sent decodes into their types without a rest, and they read the recorded
// answers as the adapters do. It is a module of its own, so that programs that
// import graphrun do not see the SDKs.
package oracle
