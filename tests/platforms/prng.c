/* bcryptprimitives.dll for Wine 8, which lacks it: the one function that Rust's standard library takes from there. */
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length); /* RtlGenRandom, in advapi32 */

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t length)
{
    return SystemFunction036(buffer, (unsigned long)length);
}
